"""The BERT you can read in one sitting: config, embeddings, attention, block, encoder."""
