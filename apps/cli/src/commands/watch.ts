import { setTimeout as sleep } from 'node:timers/promises'
import { ConnectionFailure, isSelvedgeError, RpcFailure } from '@selvedge/client'
import { watchEvents } from '@selvedge/client/node'
import { type RuntimeEvent, type TopicName, topicNames, topics } from '@selvedge/protocol'
import { onOneLine } from '@selvedge/protocol/redaction'
import { closest } from '../closest.ts'
import { command, type Input } from '../command.ts'
import { accessTokenOf, accessTokenOptions } from '../context/access-token.ts'
import type { Context } from '../context/context.ts'
import { UsageError } from '../failure.ts'
import { describeEvent } from '../output/event.ts'
import { formatJsonLine } from '../output/json.ts'

/** Milliseconds before the first new attempt to connect, and the longest wait. Each attempt doubles the wait. */
const retry = { firstMs: 500, maxMs: 15_000 }

export const watch = command({
  path: ['watch'],
  summary:
    'Show the state of the device and each change until interrupted. With --json, one JSON object a line.',
  args: [{ name: '[topics...]', description: `what to follow; default all: ${topicNames.join(', ')}` }],
  options: accessTokenOptions,
  run: async (context, { args, options }) => {
    const names = readTopics(args)
    const stop = new AbortController()
    const onSignal = () => stop.abort()
    process.once('SIGINT', onSignal)
    process.once('SIGTERM', onSignal)
    const show = (event: RuntimeEvent) => {
      if (options.json) return context.terminal.out(formatJsonLine(event))
      for (const line of describeEvent(event)) context.terminal.out(onOneLine(line))
    }
    await follow(context, options, names, show, stop.signal)
    return undefined
  },
})

function readTopics(args: readonly string[]): readonly TopicName[] {
  const unknown = args.find((name) => !topicNames.some((each) => each === name))
  if (unknown !== undefined)
    throw new UsageError(
      `there is no topic ${JSON.stringify(unknown)}`,
      closest(unknown, topicNames) === undefined
        ? `Topics are ${topicNames.join(', ')}.`
        : `Did you mean ${closest(unknown, topicNames)}?`,
    )
  return args.length === 0 ? topicNames : ([...new Set(args)] as TopicName[])
}

const scopesOf = (names: readonly TopicName[]): string => {
  const scopes = names.map((name) => (topics[name].access as { readonly scope?: string }).scope)
  return ['openid', ...new Set(scopes.filter((scope) => scope !== undefined))].join(' ')
}

/** Follows the topics until the signal, over restarts of the runtime. @throws what a new attempt does not change */
async function follow(
  context: Context,
  options: Input['options'],
  names: readonly TopicName[],
  show: (event: RuntimeEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  const newToken = () => accessTokenOf(context, options, scopesOf(names))
  let token = await newToken()
  let waitMs = retry.firstMs
  let wasConnected = false
  while (!signal.aborted) {
    try {
      for await (const event of watchEvents(await context.streams(token), names, { signal })) {
        show(event)
        wasConnected = true
        waitMs = retry.firstMs
      }
      if (signal.aborted) return
      if (!wasConnected)
        throw new ConnectionFailure('bad_answer', 'the runtime closed the stream before its first event')
      context.terminal.note('the connection was closed; connecting again')
    } catch (cause) {
      if (signal.aborted) return
      if (!wasConnected || !isTemporary(cause)) throw cause
      context.terminal.note(onOneLine(`${(cause as Error).message}; connecting again`))
      token = await renewed(cause, token, newToken)
    }
    await sleep(waitMs * (1 + Math.random()), undefined, { signal }).catch(() => undefined)
    waitMs = Math.min(waitMs * 2, retry.maxMs)
  }
}

const isTemporary = (cause: unknown): boolean =>
  isSelvedgeError(cause) &&
  (cause instanceof ConnectionFailure ||
    (cause instanceof RpcFailure && (cause.retryable || cause.reason === 'token_expired')))

/** Another token if the last one expired. @throws the cause if there is no other one */
async function renewed(cause: unknown, token: string, newToken: () => Promise<string>): Promise<string> {
  if (!(cause instanceof RpcFailure) || cause.reason !== 'token_expired') return token
  const next = await newToken()
  if (next === token) throw cause
  return next
}
