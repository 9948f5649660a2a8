/** Long answers of the console, compressed: of 100 devices a tenth is left, which a slow line needs seconds for. */
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { createGzip, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { through } from './discovery-stream.ts'

/**
 * Characters from which an answer is compressed: a list. Shorter ones may have a secret beside text of others, and its length would tell about
 * the secret if they were compressed together (BREACH).
 */
export const longCharacters = 16_384

const compress = promisify(gzip)
const accepts = ({ headers }: FastifyRequest): boolean =>
  String(headers['accept-encoding'] ?? '').includes('gzip')

/** @returns what to send; the header of the reply is set */
export async function longText(
  request: FastifyRequest,
  reply: FastifyReply,
  text: string,
): Promise<string | Buffer> {
  if (text.length < longCharacters || !accepts(request)) return text
  reply.header('Content-Encoding', 'gzip')
  return compress(text)
}

/** @returns what to send; the header of the reply is set. A reader that leaves ends the stream */
export function longStream(request: FastifyRequest, reply: FastifyReply, stream: Readable): Readable {
  if (!accepts(request)) return stream
  reply.header('Content-Encoding', 'gzip')
  return through(stream, createGzip())
}
