import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

/** A button that opens a list of actions. It closes after a choice, a click elsewhere, and Escape. */
export function Menu({
  summary,
  kind = 'btn',
  children,
}: {
  summary: ComponentChildren
  kind?: string
  children: ComponentChildren
}) {
  const menu = useRef<HTMLDetailsElement>(null)
  useEffect(() => {
    const close = () => menu.current?.removeAttribute('open')
    const onClick = ({ target }: Event) => {
      const isSummary = (target as Element).closest('summary')?.parentElement === menu.current
      if (!isSummary) close()
    }
    const onKey = ({ key }: KeyboardEvent) => {
      if (key !== 'Escape' || !menu.current?.open) return
      close()
      menu.current.querySelector('summary')?.focus()
    }
    addEventListener('click', onClick)
    addEventListener('keydown', onKey)
    return () => {
      removeEventListener('click', onClick)
      removeEventListener('keydown', onKey)
    }
  }, [])
  return (
    <details class="menu" ref={menu}>
      <summary class={kind}>{summary}</summary>
      <ul>{children}</ul>
    </details>
  )
}
