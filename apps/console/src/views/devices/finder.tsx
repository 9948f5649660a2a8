import { useId } from 'preact/hooks'
import { Icon } from '../../parts/icon.tsx'

/** A search field, and how many devices there are. */
export function Finder(props: {
  search: string
  onSearch: (text: string) => void
  total: number
  tag: string | undefined
  onClearTag: () => void
}) {
  const { search, onSearch, total, tag, onClearTag } = props
  const id = useId()
  return (
    <div class="tools">
      <div class="search">
        <Icon name="search" />
        <label for={id} class="unseen">
          Find a device
        </label>
        <input
          id={id}
          class="input"
          type="search"
          placeholder="Name, node ID or tag"
          maxLength={64}
          value={search}
          onInput={({ currentTarget }) => onSearch(currentTarget.value)}
        />
      </div>
      {tag !== undefined && (
        <button type="button" class="btn" onClick={onClearTag} aria-label={`All tags, not only ${tag}`}>
          {tag}
          <Icon name="x" />
        </button>
      )}
      <span class="faint num push" role="status">
        {total === 1 ? '1 device' : `${total.toLocaleString('en')} devices`}
      </span>
    </div>
  )
}

/** Buttons for the pages of a list. Pages and rows are counted from 0 and 1. */
export function Pager(props: {
  first: number
  last: number
  total: number
  page: number
  pages: number
  onPage: (page: number) => void
}) {
  const { first, last, total, page, pages, onPage } = props
  return (
    <footer>
      <span class="num">
        {first.toLocaleString('en')}–{last.toLocaleString('en')} of {total.toLocaleString('en')}
      </span>
      <span class="push" />
      <button type="button" class="btn" disabled={page === 0} onClick={() => onPage(page - 1)}>
        Previous
      </button>
      <button type="button" class="btn" disabled={page + 1 >= pages} onClick={() => onPage(page + 1)}>
        Next
      </button>
    </footer>
  )
}
