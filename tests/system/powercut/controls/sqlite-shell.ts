/** SQLite's own shell. In the mode WAL it syncs each commit with `synchronous = FULL`, and keeps all but the newest ones with NORMAL. */
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import type { PartView, Subject } from '../subject.ts'
import { recordControl } from './controls.ts'

async function read(folder: string): Promise<PartView> {
  const database = new DatabaseSync(join(folder, 'control.db'))
  try {
    const [{ found } = {}] = database
      .prepare("SELECT count(*) AS found FROM sqlite_master WHERE name = 'steps'")
      .all()
    const rows = found === 1 ? database.prepare('SELECT step FROM steps').all() : []
    const facts = rows.map(({ step }) => Number(step))
    return { facts, whole: JSON.stringify(facts), alarms: [] }
  } finally {
    database.close()
  }
}

export const createSqliteShell = (
  journal: 'WAL' | 'DELETE',
  synchronous: 'NORMAL' | 'FULL' | 'EXTRA',
  steps: number,
): Subject => ({
  name: `SQLite's shell, journal_mode = ${journal}, synchronous = ${synchronous}`,
  parts: [{ name: 'database', owns: (path) => path.startsWith('control.db'), read }],
  contradictions: () => [],
  record: () =>
    recordControl(
      () => ['sqlite3', '-batch', 'control.db'],
      async ({ stdin, stdout }) => {
        const answers = createInterface({ input: stdout! })[Symbol.asyncIterator]()
        const say = async (statement: string) => {
          // Its output is buffered until a command makes it open its output again.
          stdin!.write(`${statement}\n.print done\n.output stdout\n`)
          for (let answer = ''; answer !== 'done'; ) answer = (await answers.next()).value ?? 'done'
        }
        await say(`PRAGMA journal_mode = ${journal}; PRAGMA synchronous = ${synchronous};`)
        await say('CREATE TABLE steps (step INTEGER PRIMARY KEY, text TEXT);')
        for (let step = 1; step <= steps; step++)
          await say(`INSERT INTO steps VALUES (${step}, '${'x'.repeat(step * 37)}');`)
        stdin!.end('.exit\n')
      },
      ({ operations }) =>
        operations.filter((each) => each.kind === 'answer' && each.data.includes('done')).slice(2),
      (view, step) => (view.database as number[]).includes(step),
    ),
})
