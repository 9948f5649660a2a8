import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDocument, StoreError } from '@selvedge/service-kit/store'
import { slotContent } from '../../../../packages/service-kit/src/store/slot.ts'
import { mutateJson } from '../engine/mutate-json.ts'
import { expectThat, type Mutator, outcomeOfLater, type Target } from '../engine/target.ts'

/** Opening a document makes, writes and renames files, whatever is in them. */
const filesystemCalls = 200

const between = '\n=====\n'

/** A slot in the first file format. */
function firstFormat(number: number, body: string): string {
  const digest = createHash('sha256').update(`${number} `).update(body).digest('hex')
  return `selvedge ${number} ${Buffer.byteLength(body)} ${digest}\n${body}`
}

const generation = (number: number, body: string, isDone = true): string =>
  slotContent(number, 1, Buffer.from(body, 'latin1'), isDone).toString('latin1')

/** Makes header, length and digests of both files right again. */
const reseal: Mutator = (input) =>
  Buffer.from(
    input
      .toString('latin1')
      .split(between)
      .map((slot, at) => {
        const end = slot.indexOf('\n')
        const number = Number(/^selvedge (?:document \d+ \d+ )?(\d{1,15}) /.exec(slot)?.[1] ?? at)
        return generation(number, slot.slice(end + 1))
      })
      .join(between),
    'latin1',
  )

const small = '{"name":"device","list":[1,2]}'
const large = JSON.stringify({ name: 'device', list: Array.from({ length: 2000 }, (_, at) => at) })

/** State documents: the two files of one, with a line of five = between them. */
export const document: Target = {
  name: 'document',
  covers: ['packages/service-kit/src/store/document.ts', 'packages/service-kit/src/store/slot.ts'],
  seeds: () =>
    [
      generation(1, small) + between + generation(2, large),
      generation(7, large) + between + generation(6, `${small}`),
      generation(1, small) + between,
      generation(4, small) + between + generation(5, large, false),
      firstFormat(1, small) + between + firstFormat(2, large),
      `${generation(3, small)}rest of a longer one${between}${generation(2, small)}`,
    ].map((each) => Buffer.from(each)),
  mutators: [mutateJson, reseal],
  words: ['selvedge ', 'document 1 1 ', between, '\n', ' 0 ', '999999999999999', '\0'],
  open: () => {
    const folder = mkdtempSync(join(tmpdir(), 'selvedge-fuzz-'))
    const path = join(folder, 'state')
    const read = (json: unknown) => {
      if (typeof json !== 'object' || json === null || !('name' in json)) throw new Error('it is no document')
      return json as { name: unknown }
    }
    return {
      async parse(input) {
        const [a = '', b = ''] = input.toString('latin1').split(between)
        writeFileSync(`${path}.a`, a, 'latin1')
        writeFileSync(`${path}.b`, b, 'latin1')
        const outcome = await outcomeOfLater(async () => {
          const opened = await openDocument(path, { version: 1, initial: { name: 'initial' }, read })
          const { name } = opened.value
          await opened.close()
          expectThat(name !== undefined, 'the document has no name')
          return `${name === 'initial' ? 'initial' : 'read'} ${opened.notices.length}`
        }, [StoreError])
        for (const each of readdirSync(folder)) rmSync(join(folder, each))
        return { outcome, calls: filesystemCalls }
      },
      close: async () => rmSync(folder, { recursive: true, force: true }),
    }
  },
}
