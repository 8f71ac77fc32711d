import pino from 'pino';
import { describe, expect, it } from 'vitest';
import { readable } from './log.ts';

describe('a log line for people', () => {
  it('begins on a line of its own, whatever was left open there', async () => {
    let text = '';
    const written = new Promise<void>((done) => {
      pino(
        readable((part) => {
          text += part;
          done();
        }),
      ).warn('Redis is away');
    });
    await written;
    expect(text.startsWith('\r\u001b[K')).toBe(true);
    expect(text).toContain('Redis is away\n');
  });
});
