/** Parameters that several methods share. */
import * as z from 'zod'
import { param } from './method.ts'

export const edgeAccessToken = param(
  'edgeAccessToken',
  z.string(),
  'an edge access token (JWT)',
  'The access_token that the token endpoint gave for this node.',
)

const decimal = z
  .string()
  .max(32)
  .regex(/^[+-]?(?:\d+(?:\.\d*)?|\.\d+)$/)

/** A decimal string as the API family sends it, or a finite JSON number. */
export const decimalValue = z.union([decimal, z.number()])

export const nodeIdPattern = /^[0-9a-f]{56}$/

export const nodeId = param(
  'nodeId',
  z.string().regex(nodeIdPattern),
  'a node ID: 56 lower-case hexadecimal characters',
  'The node that the code is for.',
)

export const uri = param(
  'uri',
  z.string().min(1).max(2048),
  'a string of 1 to 2048 characters',
  'The URI that the code is for.',
)

/** ISO 8601 and not seconds, because people read the messages of this API too. */
export const isoTime = z.iso.datetime()
