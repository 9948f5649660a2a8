import { describeNotice } from '@selvedge/protocol'
import { redactText } from '@selvedge/protocol/redaction'
import { command } from '../command.ts'
import { checkService, type ServiceCheck } from '../context/check-service.ts'

interface Check {
  readonly name: string
  readonly ok: boolean
  readonly detail: string
  readonly hints: readonly string[]
}

export const doctor = command({
  path: ['doctor'],
  summary:
    'Check what the runtime needs: services, clock, engines, layers of isolation. Shows how to fix a failed check.',
  run: async (context) => {
    const { runtime } = context
    const me = await runtime.getMe()
    const [engines, identity, discovery] = await Promise.all([
      runtime.getEngines(),
      checkService(context, 'identity'),
      checkService(context, 'discovery'),
    ])
    const service = (name: string, { url, answers: ok, problem }: ServiceCheck): Check => ({
      name,
      ok,
      detail: url === null ? problem : ok ? `answers at ${url}` : `no answer at ${url}`,
      hints: ok
        ? []
        : ['Local functions work without it. Check the network and the URL in the configuration.'],
    })
    const engine = (name: string, { available, detail, isolation, hints }: typeof engines.oci): Check => ({
      name,
      ok: available,
      detail: isolation.length > 0 ? `${detail}: ${isolation.join(', ')}` : detail,
      hints,
    })
    const checks: Check[] = [
      { name: 'runtime', ok: true, detail: `${me.version}, node ${me.nodeId}`, hints: [] },
      {
        name: 'account',
        ok: me.accountId !== '',
        detail: me.accountId || 'none',
        hints: me.accountId === '' ? ['Associate one: selvedge account associate.'] : [],
      },
      {
        name: 'time',
        ok: me.time.state !== 'unknown',
        detail: `${me.time.state}, ${me.time.now}`,
        hints:
          me.time.state === 'unknown' ? ['The clock is wrong, and no service has sent the time yet.'] : [],
      },
      service('identity', identity),
      service('discovery', discovery),
      engine('functions', engines.function),
      engine('oci', engines.oci),
      ...me.notices.map((notice) => ({
        name: 'notice',
        ok: false,
        detail: describeNotice(notice),
        hints: [],
      })),
    ]
    return { checks: checks.map((each) => ({ ...each, detail: redactText(each.detail) })) }
  },
  human: ({ checks }) =>
    checks
      .flatMap(({ name, ok, detail, hints }) => [
        `${ok ? 'ok  ' : 'miss'}  ${name.padEnd(10)} ${detail}`,
        ...hints.map((hint) => `                 ${hint}`),
      ])
      .join('\n'),
})
