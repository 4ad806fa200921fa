"""One test or more for each known failure of the field that decoding can have, named after the failure's id."""
