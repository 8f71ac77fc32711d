import { expect, it } from 'vitest';
import type { EventRow } from '../../protocols/ingest.ts';
import { Liveness } from './liveness.ts';

const from = (source: string, connection: string) => [{ plain: { sender: { source, connection } } } as EventRow];

it('a module that names each of its connections anew is heard however many there were', () => {
  const liveness = new Liveness();
  const modules = [{ name: 'ours', silentAfterMs: 1_000 }];
  for (let connection = 0; connection < 3_000; connection++) liveness.see(from('ours', `c${connection}`), connection);
  expect(liveness.silent(modules, 3_500, 0)).toEqual([]);
  expect(liveness.silent(modules, 4_500, 0)).toEqual(['ours']);
  expect(liveness.sights()).toHaveLength(1_000);
});
