/** The methods that the examples of the specification call. */
import type { Method } from '@selvedge/protocol'
import * as z from 'zod'

const number = (name: string) => ({ name, schema: z.number(), description: name, expected: 'a number' })
const declare = (name: string, params: readonly string[]): Method => ({
  name,
  summary: name,
  params: params.map(number),
  result: z.unknown(),
  reasons: [],
  access: {},
})

export const exampleMethods: readonly Method[] = [
  declare('subtract', ['minuend', 'subtrahend']),
  declare('sum', ['a', 'b', 'c']),
  declare('update', ['a', 'b', 'c', 'd', 'e']),
  declare('notify_hello', ['a']),
  declare('notify_sum', ['a', 'b', 'c']),
  declare('get_data', []),
]

type Numbers = Record<string, number>

export const exampleHandlers = {
  subtract: (params: Record<string, unknown>) => {
    const { minuend, subtrahend } = params as Numbers
    return minuend! - subtrahend!
  },
  sum: (params: Record<string, unknown>) =>
    Object.values(params as Numbers).reduce((all, each) => all + each, 0),
  update: () => undefined,
  notify_hello: () => undefined,
  notify_sum: () => undefined,
  get_data: () => ['hello', 5],
}
