import { ACTOR_ACTIONS, type ActorAction } from '../../protocols/console-api.ts';
import { TapeworksError } from '../../protocols/errors/index.ts';
import { readJson, textField, textsField } from './body.ts';
import { Refused, sendJson } from './respond.ts';
import { need, type Parts, type Route } from './route.ts';

const PATH_CHARACTERS_MAX = 512;
const RETRIES_MAX = 500;

type Body = Readonly<Record<string, unknown>>;

/** What changes the running system. The paths exist even when control is off, so that the refusal can say why. */
export function controlRoutes({ settings, sources }: Parts): Record<string, Route> {
  const post = (answer: (body: Body) => unknown): Route => ({
    method: 'POST',
    access: 'control',
    async handle({ request, response }) {
      sendJson(response, 200, await answer(await readJson(request, settings.maxBodyBytes)));
    },
  });
  const yaml = (body: Body) => textField(body, 'yaml', settings.maxBodyBytes);
  const topology = () => need(sources.topology, 'topology');
  return {
    '/api/control/actor': post((body) => {
      act(sources.actors, actionOf(body), textField(body, 'path', PATH_CHARACTERS_MAX));
      return { done: true };
    }),
    '/api/control/dead-letters/retry': post((body) => {
      return need(sources.ingest, 'ingest').retry(textsField(body, 'ids', RETRIES_MAX));
    }),
    '/api/control/topology/validate': post((body) => topology().validate(yaml(body))),
    '/api/control/topology/plan': post((body) => topology().plan(yaml(body))),
    '/api/control/topology/apply': post((body) => {
      const from = Object.hasOwn(body, 'from') ? textField(body, 'from', PATH_CHARACTERS_MAX) : undefined;
      return topology().apply(yaml(body), from);
    }),
  };
}

function actionOf(body: Body): ActorAction {
  const name = textField(body, 'action', 20);
  const action = ACTOR_ACTIONS.find((known) => known === name);
  if (action !== undefined) return action;
  throw new Refused(400, 'TW_HTTP_BODY', `"action" must be one of ${ACTOR_ACTIONS.join(', ')}`);
}

function act(actors: Parts['sources']['actors'], action: ActorAction, path: string): void {
  try {
    actors[action](path);
  } catch (error) {
    if (!(error instanceof TapeworksError)) throw error;
    throw new Refused(error.code === 'TW_UNKNOWN_ACTOR' ? 404 : 409, error.code, error.message);
  }
}
