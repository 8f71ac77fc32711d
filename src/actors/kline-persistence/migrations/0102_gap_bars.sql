-- Gap bars are few: whoever heals them finds them here, however long the history is.
CREATE INDEX klines_gaps ON klines (venue, close_time) WHERE closed AND quality = 'gap';
