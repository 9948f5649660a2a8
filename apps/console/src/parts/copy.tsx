import { useState } from 'preact/hooks'
import { Icon } from './icon.tsx'

/** Milliseconds for which "Copied" is shown. */
const shownMs = 2000

function useCopy(text: string) {
  const [state, setState] = useState('')
  const copy = async ({ currentTarget }: MouseEvent) => {
    const shown = (currentTarget as Element).parentElement?.querySelector('pre') ?? (currentTarget as Element)
    try {
      await navigator.clipboard.writeText(text)
      setState('Copied')
    } catch {
      getSelection()?.selectAllChildren(shown)
      setState('Press Ctrl C to copy')
    }
    setTimeout(() => setState(''), shownMs)
  }
  return { state, copy }
}

function Said({ state }: { state: string }) {
  return (
    <span class="unseen" aria-live="polite">
      {state}
    </span>
  )
}

/** Commands or a secret to take away: shown as they are, with a button that copies them. */
export function Copy({
  text,
  label,
  isCommand = false,
}: {
  text: string
  label: string
  isCommand?: boolean
}) {
  const { state, copy } = useCopy(text)
  return (
    <div class="code">
      <section aria-label={label}>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard. */}
        <pre tabIndex={0} class={isCommand ? 'command' : ''}>
          {text}
        </pre>
      </section>
      <button
        type="button"
        class="btn square quiet"
        onClick={copy}
        aria-label={`Copy: ${label}`}
        title={state || 'Copy'}
      >
        <Icon name={state === 'Copied' ? 'check' : 'copy'} />
      </button>
      <Said state={state} />
    </div>
  )
}

/** An ID in a line of text, which a click copies: all of it, even if only its beginning is shown. */
export function CopyId({ text, shown = text, label }: { text: string; shown?: string; label: string }) {
  const { state, copy } = useCopy(text)
  return (
    <>
      <button type="button" class="copy mono" onClick={copy} title={state || 'Copy'}>
        <span class="unseen">Copy: {label}</span>
        <span class="cut">{shown}</span>
        <Icon name={state === 'Copied' ? 'check' : 'copy'} />
      </button>
      <Said state={state} />
    </>
  )
}
