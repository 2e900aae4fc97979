"""Raw text for pretraining: files, documents, sentences, packing, masking, vocabulary; no torch."""
