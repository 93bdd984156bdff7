"""Everything on this box and its state, as one frozen picture."""
