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
  access: { caller: 'anyone' },
})

export const exampleMethods = {
  subtract: declare('subtract', ['minuend', 'subtrahend']),
  sum: declare('sum', ['a', 'b', 'c']),
  update: declare('update', ['a', 'b', 'c', 'd', 'e']),
  notify_hello: declare('notify_hello', ['a']),
  notify_sum: declare('notify_sum', ['a', 'b', 'c']),
  get_data: declare('get_data', []),
}

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
