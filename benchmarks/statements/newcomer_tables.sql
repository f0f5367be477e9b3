-- The small public lookup tables a newcomer joins: education levels for adult, industry names for acs.

CREATE TABLE education_levels (education VARCHAR PRIMARY KEY, rank INTEGER, label VARCHAR);
INSERT INTO education_levels VALUES
  ('Preschool', 1, 'Below high school'),
  ('1st-4th', 2, 'Below high school'),
  ('5th-6th', 3, 'Below high school'),
  ('7th-8th', 4, 'Below high school'),
  ('9th', 5, 'Below high school'),
  ('10th', 6, 'Below high school'),
  ('11th', 7, 'Below high school'),
  ('12th', 8, 'Below high school'),
  ('HS-grad', 9, 'High school'),
  ('Some-college', 10, 'Some college'),
  ('Assoc-voc', 11, 'Some college'),
  ('Assoc-acdm', 12, 'Some college'),
  ('Bachelors', 13, 'Bachelor'),
  ('Masters', 14, 'Postgraduate'),
  ('Prof-school', 15, 'Postgraduate'),
  ('Doctorate', 16, 'Postgraduate');

CREATE TABLE industries (industry VARCHAR PRIMARY KEY, name VARCHAR);
INSERT INTO industries VALUES
  ('ADM', 'Public administration'),
  ('AGR', 'Agriculture, forestry and fishing'),
  ('CON', 'Construction'),
  ('EDU', 'Education'),
  ('ENT', 'Entertainment, hotels and food'),
  ('EXT', 'Mining, oil and gas'),
  ('FIN', 'Finance, insurance and real estate'),
  ('INF', 'Information and media'),
  ('MED', 'Health care'),
  ('MFG', 'Manufacturing'),
  ('MIL', 'Military'),
  ('PRF', 'Professional and business services'),
  ('RET', 'Retail trade'),
  ('SCA', 'Social care'),
  ('SRV', 'Other services'),
  ('TRN', 'Transport and warehousing'),
  ('UTL', 'Utilities'),
  ('WHL', 'Wholesale trade');
