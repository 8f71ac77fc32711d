import type { ServerResponse } from 'node:http';
import { ACTOR_ACTIONS, type ActorAction, DRAFT_ROUTE } from '../../protocols/console-api.ts';
import { APPLY_ROUTE, PLAN_ROUTE, type TopologyReply } from '../../protocols/control-api.ts';
import { TapeworksError } from '../../protocols/errors/index.ts';
import { STATUS_OF } from '../../supervision/topology/control.ts';
import { readJson, textField, textsField } from './body.ts';
import { Refused, sendJson } from './respond.ts';
import { need, type Parts, type Route } from './route.ts';

const PATH_CHARACTERS_MAX = 512;
const RETRIES_MAX = 500;

type Body = Readonly<Record<string, unknown>>;

/** What changes the running system. The paths exist even when control is off, so that the refusal can say why. */
export function controlRoutes({ settings, sources }: Parts): Record<string, Route> {
  const post = (answer: (body: Body, response: ServerResponse) => Promise<void>): Route => ({
    method: 'POST',
    access: 'control',
    handle: async ({ request, response }) => answer(await readJson(request, settings.maxBodyBytes), response),
  });
  const replying = (reply: (body: Body) => TopologyReply | Promise<TopologyReply>) =>
    post(async (body, response) => {
      const answer = await reply(body);
      sendJson(response, STATUS_OF[answer.kind], answer);
    });
  const topology = () => need(sources.topology, 'topology');
  return {
    '/api/control/actor': post(async (body, response) => {
      act(sources.actors, actionOf(body), textField(body, 'path', PATH_CHARACTERS_MAX));
      sendJson(response, 200, { done: true });
    }),
    '/api/control/dead-letters/retry': post(async (body, response) => {
      const ids = textsField(body, 'ids', RETRIES_MAX);
      sendJson(response, 200, await need(sources.ingest, 'ingest').retry(ids));
    }),
    [DRAFT_ROUTE]: post(async (body, response) => sendJson(response, 200, topology().plan(body))),
    [PLAN_ROUTE]: replying((body) => topology().plan(body)),
    [APPLY_ROUTE]: replying((body) => topology().apply(body)),
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
