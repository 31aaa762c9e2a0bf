/// The style of the admin page, from 320 px on: where the list is narrow, a row is two lines.
enum AdminPageStyle {
    static let text = """
        header, main, footer, noscript { display: block; max-width: 2560px; margin: 0 auto;
          padding: .6rem clamp(.8rem, 2vw, 2rem) }
        header { padding-top: 1rem }
        header p { margin: .1rem 0; color: var(--muted); overflow-wrap: anywhere }
        h1 { font-size: 1.4rem; margin: 0 } h2 { font-size: 1.1rem; margin: .8rem 0 .5rem }
        h3 { font-size: 1rem; margin: 0; overflow-wrap: break-word }
        small { font-weight: 400; color: var(--muted) }
        a { color: var(--link) } footer { color: var(--muted); padding-bottom: 2rem }
        pre { white-space: pre-wrap; overflow-wrap: anywhere; font-size: .85rem; margin: .4rem 0 }
        [hidden] { display: none !important }
        .hidden { position: absolute; width: 1px; height: 1px; overflow: hidden;
          clip-path: inset(50%); white-space: nowrap }
        .skip { position: absolute; left: -100rem } .skip:focus { left: .5rem; top: .5rem;
          padding: .4rem; background: var(--panel) }
        :focus-visible { outline: 2px solid var(--link); outline-offset: 1px }
        .good { color: var(--good) } .warning { color: var(--warning) } .bad { color: var(--bad) }
        .hint { color: var(--muted); font-size: .87rem; margin: .4rem 0 }
        .banner { margin: .4rem clamp(.8rem, 2vw, 2rem); padding: .5rem .8rem; border: 1px solid;
          border-radius: 6px; background: var(--panel); overflow-wrap: anywhere }
        button, .button, select, input { font: inherit; color: var(--text); background: var(--panel);
          border: 1px solid var(--muted); border-radius: 6px; padding: .3rem .7rem; min-height: 2.1rem }
        button, .button { cursor: pointer; text-decoration: none; display: inline-block;
          white-space: nowrap }
        button:hover, .button:hover { background: var(--chosen) }
        button[aria-pressed=true] { background: var(--chosen); font-weight: 600 }
        .buttons { display: flex; flex-wrap: wrap; gap: .4rem }

        #channels { display: grid; gap: .7rem; align-items: start;
          grid-template-columns: repeat(auto-fill, minmax(min(100%, 19rem), 1fr)) }
        @media (min-width: 1500px) {
          main { display: grid; grid-template-columns: 22rem minmax(0, 1fr); gap: 1.2rem;
            align-items: start }
        }
        article { background: var(--panel); border: 1px solid var(--line); border-radius: 8px;
          padding: .5rem .8rem; min-width: 0 }
        article header { padding: 0; display: flex; flex-wrap: wrap; gap: 0 .8rem;
          justify-content: space-between; align-items: baseline }
        article h3 { min-width: 0 } .state { font-weight: 600 }
        article p { margin: .1rem 0; overflow-wrap: anywhere; font-size: .92rem }
        article .upstream { color: var(--muted); font-size: .87rem }
        article dl { display: grid; grid-template-columns: max-content minmax(0, 1fr);
          gap: 0 .8rem; margin: .3rem 0 0; font-size: .87rem }
        dt { color: var(--muted) } dd { margin: 0; overflow-wrap: break-word; min-width: 0 }
        figure { margin: .3rem 0 0 } figcaption { color: var(--muted); font-size: .83rem }
        svg { display: block; width: 100%; height: 28px; border-bottom: 1px solid var(--line) }
        .served { fill: var(--link) } .failed { fill: var(--bad) }
        article .buttons { margin-top: .4rem } article button { padding: .1rem .6rem;
          min-height: 1.8rem; font-size: .9rem }
        .question { flex: 1 1 100%; font-size: .92rem }

        #filter { display: flex; flex-wrap: wrap; gap: .5rem .8rem; align-items: end }
        #filter label { display: block; font-size: .85rem; color: var(--muted) }
        #filter .wide { flex: 1 1 16rem } #filter input { width: 100% }
        #filter select { max-width: 14rem }
        input::placeholder { color: var(--muted); opacity: 1 }
        #panes { display: grid; gap: .8rem; align-items: start }
        #list { container-type: inline-size; background: var(--panel); min-width: 0;
          border: 1px solid var(--line); border-radius: 8px; padding: .2rem .6rem }
        table { border-collapse: collapse; width: 100% }
        th, td { text-align: left; padding: .25rem .9rem .25rem 0; vertical-align: top;
          white-space: nowrap }
        th { font-size: .85rem; color: var(--muted); font-weight: 600 }
        tbody tr { border-top: 1px solid var(--line); cursor: pointer }
        tbody tr:hover, tbody tr.chosen { background: var(--chosen) }
        td { font-size: .87rem; font-variant-numeric: tabular-nums }
        .number { text-align: right }
        td.channel { max-width: 14rem; overflow: hidden; text-overflow: ellipsis }
        td.path { width: 55%; white-space: normal; min-width: 12rem }
        td.path button { all: unset; cursor: pointer; overflow-wrap: anywhere; display: -webkit-box;
          -webkit-box-orient: vertical; -webkit-line-clamp: 2; overflow: hidden;
          font: .85rem/1.45 ui-monospace, SFMono-Regular, Menlo, "DejaVu Sans Mono", monospace }
        td.path button:focus-visible { outline: 2px solid var(--link); outline-offset: 1px }
        td.remarks { width: 45%; white-space: normal; overflow-wrap: break-word; min-width: 10rem;
          padding-right: 0 }
        @container (max-width: 760px) {
          table, tbody, caption { display: block } 
          thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) }
          tbody tr { display: flex; flex-wrap: wrap; gap: 0 .8rem; padding: .35rem 0 }
          tbody tr:first-child { border-top: 0 }
          td, td.path, td.remarks { padding: 0; width: auto; min-width: 0 }
          td.status { order: 1 } td.method { order: 2 } td.path { order: 3; flex: 1 1 60% }
          td.time { order: 5 } td.channel { order: 6 } td.ms { order: 7 }
          td.remarks { order: 8; flex: 1 1 100% } td.remarks:empty { display: none }
          td.time, td.channel, td.ms { color: var(--muted) } td.ms::after { content: " ms" }
          tbody tr::after { content: ""; order: 4; flex: 1 0 100% }
        }
        #why { background: var(--panel); border: 1px solid var(--line); border-radius: 8px;
          padding: .7rem .9rem; min-width: 0; overflow: auto }
        #why .heading { display: flex; gap: .8rem; justify-content: space-between;
          align-items: start }
        #why h3 { min-width: 0 } #steps dt { font-weight: 600; margin-top: .4rem }
        #steps { margin: .3rem 0 .8rem } #steps dd { overflow-wrap: anywhere }
        #curl:empty { display: none }
        @media (min-width: 1100px) {
          #panes.open { grid-template-columns: minmax(0, 3fr) minmax(22rem, 2fr) }
          #why { position: sticky; top: .6rem; max-height: calc(100vh - 1.2rem) }
        }
        @media (max-width: 1099px) {
          #why { position: fixed; inset: auto 0 0 0; max-height: 75vh; border-radius: 8px 8px 0 0;
            box-shadow: 0 0 1.5rem #0008; z-index: 1 }
        }
        @media (prefers-reduced-motion: no-preference) { .skip { transition: left .1s } }
        """
}
