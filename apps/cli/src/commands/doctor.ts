import { redactText } from '@selvedge/protocol/redaction'
import { command } from '../command.ts'
import { checkNeeds } from '../production/needs.ts'
import { checkProduction } from '../production/production.ts'
import { checkInsecure, readSettings } from '../production/settings.ts'

export const doctor = command({
  path: ['doctor'],
  summary:
    'Check what the runtime needs: services, clock, engines, layers of isolation. Shows how to fix a failed check.',
  options: [
    {
      flags: '--production',
      description:
        'also check what is not fit for production on this machine; exit code 1 if anything is not',
    },
  ],
  run: async (context, { options }) => {
    const checks =
      options.production === true
        ? await checkProduction(context)
        : [...(await checkNeeds(context)), ...checkInsecure(readSettings(context.env))]
    return { checks: checks.map((each) => ({ ...each, detail: redactText(each.detail) })) }
  },
  isFailure: ({ checks }, { options }) => options.production === true && checks.some(({ ok }) => !ok),
  human: ({ checks }) =>
    checks
      .flatMap(({ name, ok, detail, hints }) => [
        `${ok ? 'ok  ' : 'miss'}  ${name.padEnd(10)} ${detail}`,
        ...hints.map((hint) => `                 ${hint}`),
      ])
      .join('\n'),
})
