/** What the program of a function may say on its control line. */
import * as z from 'zod'
import type { FromFunction } from './control.ts'
import { ProtocolError } from './frames.ts'
import { maxItems, maxKeyBytes, maxTagBytes } from './storage-change.ts'

const key = z.string().max(maxKeyBytes)
const tag = z.string().max(maxTagBytes)
const item = z.union([z.tuple([key, z.string()]), z.tuple([key, z.string(), tag])])
const number = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER)

const fromFunction: z.ZodType<FromFunction> = z.union([
  z.strictObject({ set: z.array(item).max(maxItems), ask: number }),
  z.strictObject({ remove: z.array(z.string()).max(maxItems), ask: number }),
  z.strictObject({ setLong: key, tag: tag.optional(), ask: number }),
  z.strictObject({ identify: z.string().max(512), ask: number }),
  z.strictObject({ pong: number }),
  z.strictObject({ listening: z.literal(true) }),
  z.strictObject({ ready: z.literal(true), scheduled: z.literal(true).optional() }),
  z.strictObject({ ran: number, failed: z.string().optional() }),
  z.strictObject({ broken: z.string() }),
]) as never

/** @param payload of one frame, at most `maxPayload` bytes. @throws ProtocolError */
export function parseMessage(payload: Uint8Array): FromFunction {
  let value: unknown
  try {
    value = JSON.parse(Buffer.from(payload.buffer, payload.byteOffset, payload.length).toString())
  } catch {
    throw new ProtocolError('a message that is not JSON')
  }
  const read = fromFunction.safeParse(value)
  if (read.success) return read.data
  const members = typeof value === 'object' && value !== null ? Object.keys(value).slice(0, 3).join(', ') : ''
  throw new ProtocolError(`an unknown or malformed message (${members.slice(0, 100)})`)
}
