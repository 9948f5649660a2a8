import { redactText } from '@selvedge/protocol/redaction'
import { command } from '../command.ts'
import type { Context } from '../context/context.ts'
import type { Check } from '../production/check.ts'
import { applyFixes } from '../production/fixes.ts'
import { checkNeeds } from '../production/needs.ts'
import { checkProduction } from '../production/production.ts'
import { checkInsecure, readSettings } from '../production/settings.ts'

const checksFor = async (context: Context, isProduction: boolean): Promise<readonly Check[]> =>
  isProduction
    ? checkProduction(context)
    : [...(await checkNeeds(context)), ...checkInsecure(readSettings(context.env))]

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
    {
      flags: '--fix',
      description: 'run the commands of failed checks that need no decision, as root, and check again',
    },
  ],
  examples: ['selvedge doctor', 'selvedge doctor --production'],
  run: async (context, { options }) => {
    const isProduction = options.production === true
    const found = await checksFor(context, isProduction)
    const fixed = options.fix === true ? applyFixes(found) : []
    const checks = fixed.length > 0 ? await checksFor(context, isProduction) : found
    return {
      checks: checks.map(({ name, ok, detail, hints }) => ({ name, ok, detail: redactText(detail), hints })),
      ...(options.fix === true && { fixed }),
    }
  },
  isFailure: ({ checks }, { options }) => options.production === true && checks.some(({ ok }) => !ok),
  human: ({ checks, fixed = [] }) =>
    [
      ...fixed.map(({ command: run, problem }) => `ran   ${run}${problem === '' ? '' : `: ${problem}`}`),
      ...checks.flatMap(({ name, ok, detail, hints }) => [
        `${ok ? 'ok  ' : 'miss'}  ${name.padEnd(10)} ${detail}`,
        ...hints.map((hint) => `                 ${hint}`),
      ]),
    ].join('\n'),
})
