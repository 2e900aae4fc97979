"""Texts as tokens: tokenizer, words, windows of long texts, tokenized examples; no torch."""
