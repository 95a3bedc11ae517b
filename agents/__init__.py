"""Players of That's Life!, and what trains and compares them."""
