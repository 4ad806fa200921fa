"""Independent readings of requests and token counts, against which laws compare a subject."""
