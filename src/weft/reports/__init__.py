"""What people read after a run: a page, a terminal table and a model card, all from the run's plain-JSON record."""
