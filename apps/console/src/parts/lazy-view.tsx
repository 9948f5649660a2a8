import type { FunctionComponent } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Bones, Problem } from './view.tsx'

export type Loaded<Props> = { readonly default: FunctionComponent<Props> }

/** A view. Its code is loaded when it is first shown. */
export function lazyView<Props extends object>(load: () => Promise<Loaded<Props>>): FunctionComponent<Props> {
  let known: Loaded<Props> | undefined
  return function LazyView(props) {
    const [loaded, setLoaded] = useState(known)
    const [isLost, setLost] = useState(false)
    useEffect(() => {
      if (loaded) return
      load().then(
        (view) => {
          known = view
          setLoaded(view)
        },
        () => setLost(true),
      )
    }, [])
    if (loaded) return <loaded.default {...props} />
    if (!isLost) return <Bones />
    return (
      <Problem
        icon="wifi-off"
        title="Can’t reach the server"
        text="A part of the console could not be loaded. The service may have been updated meanwhile."
      >
        <button type="button" class="btn" onClick={() => location.reload()}>
          Load the page again
        </button>
      </Problem>
    )
  }
}
