-- Every accepted message, once. `id` is the envelope's ULID in uuid form, so redelivered messages collide.
--
-- A unique key of a partitioned table must contain the partition column. `part_day` is taken from the time inside the id
-- and from nothing else: were it taken from ts_kernel, a redelivered message could land in two partitions, twice.
CREATE TABLE events (
  id            uuid   NOT NULL,
  part_day      date   NOT NULL,
  ts_event      bigint NOT NULL,
  ts_collector  bigint NOT NULL,
  ts_kernel     bigint NOT NULL,
  event_type    text   NOT NULL,
  source        text   NOT NULL,
  symbol        text   NOT NULL,
  connection_id text   NOT NULL,
  payload       jsonb  NOT NULL,
  meta          jsonb,
  PRIMARY KEY (part_day, id)
) PARTITION BY RANGE (part_day);

COMMENT ON COLUMN events.ts_event IS 'nanoseconds since 1970 at the venue';
COMMENT ON COLUMN events.ts_collector IS 'nanoseconds since 1970 at the module';
COMMENT ON COLUMN events.ts_kernel IS 'nanoseconds since 1970 when the kernel first read it';
COMMENT ON COLUMN events.event_type IS 'the event''s type, or control, ack, error for messages that carry no event';
COMMENT ON COLUMN events.symbol IS 'empty for messages about a module';

-- An id from a clock that is days off still has a home and never fails its batch.
CREATE TABLE events_default PARTITION OF events DEFAULT;

CREATE INDEX events_time ON events USING brin (ts_event) WITH (pages_per_range = 32, autosummarize = on);
CREATE INDEX events_symbol_time ON events (symbol, ts_event DESC);

-- Makes the partition of one day, and moves that day's rows out of the default partition if some came early.
CREATE FUNCTION ensure_events_partition(day date) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  name text := 'events_' || to_char(day, 'YYYYMMDD');
BEGIN
  IF to_regclass(name) IS NOT NULL THEN
    RETURN false;
  END IF;
  -- Two kernels may start at once; the lock is released with the transaction.
  PERFORM pg_advisory_xact_lock(hashtext('tapeworks events partitions'));
  IF to_regclass(name) IS NOT NULL THEN
    RETURN false;
  END IF;
  EXECUTE format('CREATE TABLE %I (LIKE events INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', name);
  EXECUTE format('WITH early AS (DELETE FROM events_default WHERE part_day = %L RETURNING *) INSERT INTO %I SELECT * FROM early', day, name);
  EXECUTE format('ALTER TABLE events ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', name, day, day + 1);
  RETURN true;
END $$;
