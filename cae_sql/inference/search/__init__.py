"""Small systems: walks and integer programs for one record, or for a pair."""
