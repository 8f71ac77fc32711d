// A certificate for 127.0.0.1, made on the spot for tests: DER by hand, as no tool for it can be counted on.
import { createPrivateKey, generateKeyPairSync, randomBytes, sign } from 'node:crypto';

const tagged = (tag: number, ...parts: Buffer[]): Buffer => {
  const body = Buffer.concat(parts);
  const length = body.length < 128 ? [body.length] : [0x82, body.length >> 8, body.length & 255];
  return Buffer.concat([Buffer.from([tag, ...length]), body]);
};
const sequence = (...parts: Buffer[]) => tagged(0x30, ...parts);
const oid = (hex: string) => tagged(0x06, Buffer.from(hex, 'hex'));
const utcTime = (date: Date) =>
  tagged(0x17, Buffer.from(`${date.toISOString().slice(2, 19).replaceAll(/[-:T]/g, '')}Z`));

const ECDSA_SHA256 = sequence(oid('2a8648ce3d040302'));
const NAME = sequence(tagged(0x31, sequence(oid('550403'), tagged(0x0c, Buffer.from('tapeworks test')))));
const DAY_MS = 86_400_000;

/** PEM texts, valid for a day. */
export function selfSigned(): { readonly cert: string; readonly key: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const address = sequence(tagged(0x87, Buffer.from([127, 0, 0, 1])));
  const body = sequence(
    tagged(0xa0, tagged(0x02, Buffer.from([2]))),
    tagged(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ECDSA_SHA256,
    NAME,
    sequence(utcTime(new Date(Date.now() - DAY_MS)), utcTime(new Date(Date.now() + DAY_MS))),
    NAME,
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, sequence(sequence(oid('551d11'), tagged(0x04, address)))),
  );
  const signature = sign('sha256', body, createPrivateKey(privateKey.export({ type: 'pkcs8', format: 'pem' })));
  const whole = sequence(body, ECDSA_SHA256, tagged(0x03, Buffer.from([0]), signature));
  const lines = whole.toString('base64').replaceAll(/(.{64})/g, '$1\n');
  const cert = `-----BEGIN CERTIFICATE-----\n${lines.trimEnd()}\n-----END CERTIFICATE-----\n`;
  return { cert, key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string };
}
