"""How workers share what they computed: the tree, the shared memory, and ranks on other machines."""
