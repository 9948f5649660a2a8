import { ConnectionFailure, RpcFailure } from '@selvedge/client'
import { escapeControls, onOneLine } from '@selvedge/protocol/redaction'
import { describeEvent } from '../../../../apps/cli/src/output/event.ts'
import { createMessageReader, endWith, eventOf } from '../../../../packages/client/src/node/event-messages.ts'
import { expectThat, outcomeOf, type Target } from '../engine/target.ts'

const event = (topic: string, data: unknown, more: object = {}) =>
  `id: ${topic}-1\nevent: ${topic}\ndata: ${JSON.stringify({ topic, data, ...more })}\n\n`
const node = { nodeId: 'a'.repeat(56), state: 'online', addresses: ['192.0.2.1'], services: [] }
const link = { reachable: false, since: null, lastError: 'a reason' }

/** Shows what a line ends, as `selvedge watch` does. */
function show(read: ReturnType<typeof createMessageReader>, line: string): number {
  const message = read(line)
  if (!message) return 0
  if (message.name === 'end') endWith(message.data)
  const found = eventOf(message.name, message.data)
  if (!found) return 0
  expectThat(!/\p{Cc}/u.test(escapeControls(JSON.stringify(found))), 'a control character is left in JSON')
  const lines = describeEvent(found).map(onOneLine)
  for (const each of lines) expectThat(!/[^\P{Cc}\t]/u.test(each), 'a control character is left')
  return 1
}

/** Events of a hostile runtime, as the client and the command line read and show them. */
export const runtimeEvents: Target = {
  name: 'runtime-events',
  covers: ['packages/client/src/node/event-messages.ts', 'apps/cli/src/output/event.ts'],
  seeds: () =>
    [
      event('account', { accountId: 'a', confirmed: true }),
      event('fixes', {
        longitude: '1',
        latitude: '2',
        speed: '0',
        bearing: '0',
        source: 'call',
        fixedAt: '',
      }),
      event('containers', [{ id: 'a-b', name: 'b', state: 'running', health: 'healthy' }], { lost: 2 }),
      event('logs', [
        { id: 'a', time: '2026-01-01T00:00:00Z', stream: 'stdout', text: '\x1b]52;c;eA==\x07' },
      ]),
      event('nodes', { account: [node], linkLocal: [node] }),
      event('connectivity', { identity: link, discovery: link }),
      event('clock', { state: 'trusted' }),
      event('notices', [{ reason: 'recovery_failed', detail: 'd', since: '', hint: 'h' }]),
      'event: end\ndata: {"reason":"token_expired","detail":"d"}\n\n',
      ': still here\n\ndata: null\n\nevent: constructor\ndata: {}\n\n',
    ].map((each) => Buffer.from(each)),
  words: [
    'data: ',
    'event: ',
    '\n\n',
    '"topic":',
    '"data":null',
    '[]',
    '{}',
    '"lost":1e999',
    '\x9b',
    'end',
    'clock',
  ],
  open: () => ({
    parse(input) {
      let shown = 0
      const read = createMessageReader()
      const end = outcomeOf(() => {
        for (const line of input.toString().split('\n')) {
          try {
            shown += show(read, line)
          } catch (cause) {
            // A runtime may give any reason, also that of an internal error.
            if (cause instanceof RpcFailure) return 'ended'
            throw cause
          }
        }
      }, [ConnectionFailure])
      return `${end}, ${Math.min(3, shown)} events`
    },
  }),
}
