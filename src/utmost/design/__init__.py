"""One module per theory: a problem goes in, a Solution comes out."""
