"""The policy: what is protected, from whom, and how far answers may go; and how one is suggested."""
