import { beforeAll, describe, expect, it } from 'vitest';
import { explore } from './explorer.ts';
import { type Mailboxes, productionMailboxes } from './mailboxes.ts';
import { SCENARIOS, type ScenarioName } from './scenarios.ts';

describe('in every order of atomic operations', () => {
  let boxes: Mailboxes;
  beforeAll(async () => {
    boxes = await productionMailboxes();
  });

  it.each(Object.keys(SCENARIOS) as ScenarioName[])('%s', (name) => {
    const { runs } = explore(SCENARIOS[name](boxes));
    expect(runs).toBeGreaterThan(10);
  });
});
