-- How far the filling of a symbol's history has come: bars that open from from_time on and before next_time are stored.
CREATE TABLE kline_backfill (
  venue      text        NOT NULL,
  symbol     text        NOT NULL,
  "interval" text        NOT NULL,
  from_time  timestamptz NOT NULL,
  next_time  timestamptz NOT NULL,
  bars       bigint      NOT NULL DEFAULT 0,
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (venue, symbol, "interval", from_time)
);
