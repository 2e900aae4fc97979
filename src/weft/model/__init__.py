"""A network and all that is done with it: predict, evaluate, inspect, embed, save and load."""
