"""The public designs, a module for each theory: a problem goes in, a Solution comes out."""
