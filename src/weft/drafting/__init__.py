"""A config drafted from looking at labelled files: what each column holds, which tasks that makes, and why."""
