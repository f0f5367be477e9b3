"""The few who are left: walks and integer programs for one record, or for a pair, in small systems."""
