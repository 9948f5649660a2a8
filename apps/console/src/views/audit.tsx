import { useState } from 'preact/hooks'
import { api } from '../api.ts'
import { Action } from '../parts/action.tsx'
import { capital } from '../parts/capital.ts'
import { CopyId } from '../parts/copy.tsx'
import { download } from '../parts/download.ts'
import { State } from '../parts/state.tsx'
import { Time } from '../parts/time.tsx'
import { Bones, Scroll, View } from '../parts/view.tsx'
import { useCall } from '../state/use-call.ts'

const pageSize = 100

type Entry = Awaited<ReturnType<(typeof api)['audit.list']>>[number]

export default function AuditView() {
  const { data, error, set } = useCall(() => api['audit.list']({ before: null }))
  const [isWhole, setWhole] = useState(false)
  return (
    <View
      title="Audit log"
      about="Who did what, from where."
      actions={
        <Action
          icon="download"
          run={() => download('/console/audit.jsonl', 'selvedge-audit.jsonl', 'the audit log')}
        >
          Export JSONL
        </Action>
      }
      error={error}
    >
      {!data && !error && <Bones />}
      {data && <Entries entries={data} />}
      {data && data.length >= pageSize && !isWhole && (
        <div>
          <Action
            run={async () => {
              const more = await api['audit.list']({ before: data.at(-1)!.id })
              set((before) => [...before, ...more])
              if (more.length < pageSize) setWhole(true)
            }}
          >
            Load older
          </Action>
        </div>
      )}
    </View>
  )
}

const Entries = ({ entries }: { entries: readonly Entry[] }) => (
  <section class="card">
    <Scroll label="Entries of the audit log">
      <table class="table cards-narrow">
        <thead>
          <tr>
            <th>Event</th>
            <th>By</th>
            <th>Target</th>
            <th>Address</th>
            <th>Result</th>
            <th>Time</th>
          </tr>
        </thead>
        <tbody>
          {entries.map(({ id, at, actor, action, subject, address, outcome, detail }) => (
            <tr key={id}>
              <td class="main">{capital(action.replaceAll(/[._]/g, ' '))}</td>
              <td>{actor}</td>
              <td>
                {detail}{' '}
                {subject && (
                  <small class="id">
                    <CopyId text={subject} label="ID of the target" />
                  </small>
                )}
              </td>
              <td class="soft">{address || 'this service'}</td>
              <td>
                <State kind={outcome === 'ok' ? 'good' : 'bad'}>{outcome === 'ok' ? 'OK' : 'Refused'}</State>
              </td>
              <td class="soft">
                <Time of={at} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  </section>
)
