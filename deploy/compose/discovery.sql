-- The second database; the first one is POSTGRES_DB.
CREATE DATABASE discovery;
