/** Parameters that several methods of the console share, and the session and role that they need. */
import * as z from 'zod'
import { param } from '../methods/method.ts'

export const text = <const Name extends string>(name: Name, longest: number, description: string) =>
  param(name, z.string().min(1).max(longest), `a text of 1 to ${longest} characters`, description)
export const id = <const Name extends string>(name: Name, description: string) =>
  param(name, z.string().min(1).max(512), 'an identifier', description)
export const clientId = id('clientId', 'Client ID of the project.')
export const done = z.object({ done: z.literal(true) })

/** The session and role that a method needs. */
export const any = { caller: 'person', session: 'any' } as const
export const recent = { caller: 'person', session: 'recent' } as const
export const owner = { caller: 'person', session: 'any', role: 'owner' } as const
export const recentOwner = { caller: 'person', session: 'recent', role: 'owner' } as const
