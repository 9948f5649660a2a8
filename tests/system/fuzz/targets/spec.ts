import { containerSpec, RpcError, readSettings } from '@selvedge/protocol'
import { mutateJson } from '../engine/mutate-json.ts'
import { outcomeOf, type Target } from '../engine/target.ts'

const env = {
  'MCM.BASE_API_PATH': '/example/v1',
  'MCM.OUTBOUND': 'public, api.example.com, 10.0.0.5:8080 [::1]:80, 10.1.2.0/24:502',
  'MCM.VOLUMES': 'data:/var/lib/data,logs:/var/log',
  'MCM.HEALTH_PATH': '/health',
  'MCM.CPU': '0.5',
  'MCM.PORT': '8080',
  'MCM.PORTS': '1883/tcp, 8883:1883 5683/udp',
  'MCM.CRON': '*/5 0-23/2 1,15 jan-MAR *; 0 3 * * mon-fri | 0 0 29 2 7',
  'MCM.CRON_TZ': 'Europe/Berlin',
  MODE: 'x',
}
const spec = { name: 'web', image: 'sha256:0', env }

/** What a deployment may set. */
export const settings: Target = {
  name: 'settings',
  covers: [
    'packages/protocol/src/mcm/settings.ts',
    'packages/protocol/src/mcm/records.ts',
    'packages/protocol/src/mcm/outbound.ts',
    'packages/protocol/src/mcm/ports.ts',
    'packages/protocol/src/mcm/cron.ts',
  ],
  seeds: () =>
    [
      spec,
      { ...spec, env: { ...env, 'MCM.OUTBOUND': Array(300).fill('api.example.com:443').join(', ') } },
      {
        name: 'web',
        image: 'a',
        env: { 'MCM.ACCESS': 'public', 'MCM.PAGES': 'trusted', 'MCM.IDLE_SEC': '0' },
      },
    ].map((each) => Buffer.from(JSON.stringify(each))),
  mutators: [mutateJson],
  words: [
    '"MCM.OUTBOUND":"',
    '"MCM.VOLUMES":"',
    '"MCM.CRON":"* * * * *',
    ';|*/-,',
    '"MCM.BASE_API_PATH":"/',
    '-.-.',
    '/a.b/',
    '::1',
    ',,,,',
    '"__proto__"',
  ],
  open: () => ({
    parse(input) {
      let value: unknown
      try {
        value = JSON.parse(input.toString())
      } catch {
        return 'no JSON'
      }
      const read = containerSpec.safeParse(value)
      if (!read.success) return `schema ${read.error.issues[0]!.path[0] as string}`
      return outcomeOf(
        () => readSettings((read.data.env ?? {}) as Record<string, string>) && 'accepted',
        [RpcError],
      )
    },
  }),
}
