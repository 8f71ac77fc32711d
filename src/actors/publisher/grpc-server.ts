import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  type Metadata,
  Server,
  ServerCredentials,
  ServerInterceptingCall,
  type ServerInterceptor,
  type ServiceDefinition,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { loadSync, type PackageDefinition } from '@grpc/proto-loader';
import { ReflectionService } from '@grpc/reflection';
import { HealthImplementation } from 'grpc-health-check';
import { TapeworksError } from '../../protocols/errors/index.ts';
import { TokenFile } from '../../protocols/token-file.ts';
import type { PublisherSettings } from '../../protocols/topology.ts';
import { reflectedProtos } from './reflection.ts';

const PROTO_FOLDER = fileURLToPath(new URL('../../protocols/proto/', import.meta.url));

/** Proto files that the server speaks; all of them are shown by reflection. */
export function loadProtos(files: readonly string[]): PackageDefinition {
  return loadSync([...files], { includeDirs: [PROTO_FOLDER], keepCase: true, longs: String, defaults: true });
}

/** The service of this full name, with streamed answers taken as bytes that are already encoded. */
export function rawService(protos: PackageDefinition, name: string): ServiceDefinition {
  const service = protos[name] as ServiceDefinition;
  return Object.fromEntries(
    Object.entries(service).map(([method, definition]) => [
      method,
      definition.responseStream ? { ...definition, responseSerialize: (bytes: Buffer) => bytes } : definition,
    ]),
  );
}

export interface GrpcService {
  readonly name: string;
  readonly definition: ServiceDefinition;
  readonly implementation: UntypedServiceImplementation;
}

export interface RunningGrpc {
  readonly port: number;
  readonly health: HealthImplementation;
  /** From now on calls need the token of this file; none where it is null. */
  useToken(file: string | null): void;
  stop(deadlineMs: number): Promise<void>;
}

/** What one HTTP/2 session may hold in its buffers before nghttp2 ends it. */
const SESSION_MEMORY_MB = 16;
const CONNECTION_AGE_GRACE_MS = 10_000;

export async function startGrpc(
  settings: PublisherSettings,
  protos: PackageDefinition,
  services: readonly GrpcService[],
): Promise<RunningGrpc> {
  let token = tokenIn(settings.tokenFile);
  const server = new Server({
    'grpc.max_receive_message_length': settings.maxRequestBytes,
    'grpc.max_concurrent_streams': settings.maxStreamsPerConnection,
    'grpc.keepalive_time_ms': settings.keepaliveMs,
    'grpc.keepalive_timeout_ms': settings.keepaliveMs,
    'grpc.max_connection_age_grace_ms': CONNECTION_AGE_GRACE_MS,
    'grpc-node.max_session_memory': SESSION_MEMORY_MB,
    interceptors: [requireToken(() => token)],
  });
  for (const { definition, implementation } of services) server.addService(definition, implementation);
  const health = new HealthImplementation({ '': 'SERVING' });
  for (const { name } of services) health.setStatus(name, 'SERVING');
  health.addToServer(server);
  new ReflectionService(reflectedProtos(protos)).addToServer(server);
  const port = await bind(server, settings);
  return {
    port,
    health,
    useToken: (file) => {
      token = tokenIn(file);
    },
    stop: (deadlineMs) =>
      new Promise((resolve) => {
        const force = setTimeout(() => server.forceShutdown(), deadlineMs);
        server.tryShutdown(() => {
          clearTimeout(force);
          resolve();
        });
      }),
  };
}

function bind(server: Server, settings: PublisherSettings): Promise<number> {
  const address = `${settings.host}:${settings.port}`;
  return new Promise((resolve, reject) => {
    server.bindAsync(address, credentials(settings), (error, port) => {
      if (error === null) resolve(port);
      else {
        const message = `gRPC cannot listen on ${address}: ${error.message}`;
        reject(new TapeworksError('TW_GRPC_BIND', message, { address }, { cause: error }));
      }
    });
  });
}

function credentials({ tls }: PublisherSettings): ServerCredentials {
  if (tls === null) return ServerCredentials.createInsecure();
  const ca = tls.clientCaFile === null ? null : readFileSync(tls.clientCaFile);
  const pair = { private_key: readFileSync(tls.keyFile), cert_chain: readFileSync(tls.certFile) };
  return ServerCredentials.createSsl(ca, [pair], ca !== null);
}

/** Health checks need no token: they say nothing but that the server is there. */
const OPEN_METHODS = /^\/grpc\.health\.v1\.Health\//;

const tokenIn = (file: string | null) => (file === null ? undefined : new TokenFile(file));

function requireToken(token: () => TokenFile | undefined): ServerInterceptor {
  return (method, call) =>
    new ServerInterceptingCall(call, {
      start: (next) =>
        next({
          onReceiveMetadata(metadata: Metadata, pass) {
            const isKnown = token()?.accepts(metadata.get('authorization')[0]?.toString()) ?? true;
            if (OPEN_METHODS.test(method.path) || isKnown) pass(metadata);
            else call.sendStatus({ code: status.UNAUTHENTICATED, details: 'authorization: a bearer token is needed' });
          },
        }),
    });
}
