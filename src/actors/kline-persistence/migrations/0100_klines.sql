-- One row a bar. A bar that is amended replaces its row by one with a higher revision, never by a lower one.
CREATE TABLE klines (
  venue              text        NOT NULL,
  symbol             text        NOT NULL,
  "interval"         text        NOT NULL,
  open_time          timestamptz NOT NULL,
  close_time         timestamptz NOT NULL,
  open               numeric     NOT NULL,
  high               numeric     NOT NULL,
  low                numeric     NOT NULL,
  close              numeric     NOT NULL,
  volume             numeric     NOT NULL,
  quote_volume       numeric     NOT NULL,
  taker_volume       numeric     NOT NULL,
  taker_quote_volume numeric     NOT NULL,
  trades             bigint      NOT NULL,
  first_id           numeric(20) NOT NULL,
  last_id            numeric(20) NOT NULL,
  closed             boolean     NOT NULL,
  quality            text        NOT NULL CHECK (quality IN ('complete', 'partial-first', 'quiet', 'gap', 'repaired')),
  revision           integer     NOT NULL,
  PRIMARY KEY (venue, symbol, "interval", open_time)
) PARTITION BY RANGE (open_time);

COMMENT ON COLUMN klines.close_time IS 'the last microsecond of the bar';
COMMENT ON COLUMN klines.trades IS 'as the venue counts: an aggregate trade of n trades counts n';
COMMENT ON COLUMN klines.revision IS '0 while the bar is open, 1 at its close, more with each amendment';

-- A bar of a month that nobody prepared still has a home.
CREATE TABLE klines_default PARTITION OF klines DEFAULT;

-- Where a restart goes on: every trade below next_sequence is in the stored bars, the holes apart.
CREATE TABLE kline_progress (
  venue         text        NOT NULL,
  symbol        text        NOT NULL,
  next_sequence numeric(20) NOT NULL,
  last_time     timestamptz NOT NULL,
  since         timestamptz NOT NULL,
  PRIMARY KEY (venue, symbol)
);

-- Makes the partition of one month, and moves that month's rows out of the default partition if some came early.
CREATE FUNCTION ensure_klines_partition(month date) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  first date := date_trunc('month', month)::date;
  next date := (date_trunc('month', month) + '1 month')::date;
  name text := 'klines_' || to_char(first, 'YYYYMM');
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('klines_partitions'));
  IF to_regclass(name) IS NOT NULL THEN
    RETURN false;
  END IF;
  EXECUTE format('CREATE TABLE %I (LIKE klines INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', name);
  EXECUTE format(
    'WITH moved AS (DELETE FROM klines_default WHERE open_time >= %L AND open_time < %L RETURNING *) INSERT INTO %I SELECT * FROM moved',
    first::timestamp AT TIME ZONE 'utc', next::timestamp AT TIME ZONE 'utc', name);
  EXECUTE format('ALTER TABLE klines ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
    name, first::timestamp AT TIME ZONE 'utc', next::timestamp AT TIME ZONE 'utc');
  RETURN true;
END $$;

-- What traders expect to find: closed bars with the names that charting programs and notebooks use.
CREATE VIEW candles AS
SELECT venue, symbol, "interval", open_time AS time, open, high, low, close, volume, quote_volume, trades,
       taker_volume AS taker_buy_volume, taker_quote_volume AS taker_buy_quote_volume,
       CASE WHEN volume > 0 THEN quote_volume / volume END AS vwap,
       quality, revision
FROM klines WHERE closed;
