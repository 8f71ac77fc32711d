import { batch } from 'solid-js';
import { createStore, reconcile } from 'solid-js/store';
import {
  ACTOR_STATES,
  type ActorShape,
  type ActorsMessage,
  type ActorValues,
  VALUE,
} from '../../../protocols/console-api.ts';
import { followTopic } from './live.ts';

/** Writable, since the store changes it in place. */
export interface ActorRow {
  path: string;
  shape: ActorShape;
  values: ActorValues;
}

const [rows, setRows] = createStore<ActorRow[]>([]);

export { rows };

/** Keeps the rows up to date while the component lives: a change touches only the cells that show it. */
export function followActors(): void {
  followTopic<ActorsMessage>(
    () => 'actors',
    (message) =>
      batch(() => {
        if (message.kind === 'full') {
          const next = message.shapes.map((shape, at) => ({ path: shape.path, shape, values: message.values[at]! }));
          setRows(reconcile(next, { key: 'path' }));
        } else {
          for (const [at, values] of message.changed) setRows(at, 'values', values);
        }
      }),
  );
}

export const stateOf = (row: ActorRow) => ACTOR_STATES[row.values[VALUE.state]]!;

export const nameOf = (path: string) => (path === '/' ? 'system' : path.slice(path.lastIndexOf('/') + 1));

export const levelOf = (path: string) => (path === '/' ? 0 : path.split('/').length - 1);

/** Every actor above this one, the root first. */
export function pathsAbove(path: string): readonly string[] {
  const parts = path.split('/').filter((part) => part !== '');
  return path === '/' ? [] : ['/', ...parts.slice(0, -1).map((_, at) => `/${parts.slice(0, at + 1).join('/')}`)];
}
