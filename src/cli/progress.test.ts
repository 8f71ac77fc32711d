import { describe, expect, it } from 'vitest';
import { renderTroubles } from './progress.ts';
import { unpainted } from './terminal.ts';

describe('the screen at the end of a start', () => {
  it('says which parts are not well, and why, within the width', () => {
    const text = renderTroubles(
      [
        { name: 'actors', status: 'OK', reason: '' },
        { name: 'books', status: 'DOWN', reason: 'no venue sends books' },
        { name: 'ingest', status: 'DEGRADED', reason: 'events: Postgres is out, spilling: connect ECONNREFUSED' },
      ],
      unpainted,
      60,
    );
    expect(text.split('\n')).toEqual([
      '    DOWN        books: no venue sends books',
      '    DEGRADED    ingest: events: Postgres is out, spilling:',
      '                connect ECONNREFUSED',
      '',
    ]);
  });

  it('says nothing of them where all is well', () => {
    expect(renderTroubles([{ name: 'actors', status: 'OK', reason: '' }], unpainted, 80)).toBe('');
  });
});
