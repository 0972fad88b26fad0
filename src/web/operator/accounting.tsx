import { useState } from "preact/hooks";
import { type ExportFormat, exportFormats } from "../../core/service.ts";
import { exportFiles, isWholeExport } from "../../wire/export-files.ts";
import { urlOf } from "../answers.ts";
import { useApp } from "../app.ts";
import { Download } from "../download.tsx";
import { ChoiceField, PeriodFields } from "../field.tsx";
import { warsawTime } from "../format.ts";
import { endsBeforeItBegins, type TypedPeriod } from "../period.ts";

/** The month before this one in Poland, from its first day to its last. */
function lastMonth(): TypedPeriod {
  const first = `${warsawTime(new Date()).slice(0, 7)}-01`;
  const to = new Date(Date.parse(first) - 86_400_000).toISOString().slice(0, 10);
  return { from: `${to.slice(0, 7)}-01`, to };
}

/** The register of the exchange office, and the journal for accounting programs, of a period. */
export function Accounting() {
  const { texts } = useApp();
  const [period, setPeriod] = useState(lastMonth);
  const [format, setFormat] = useState<ExportFormat>("register");
  const [full, setFull] = useState(false);
  const { type, ending } = exportFiles[format];
  const query = { format, ...period, full: full ? "true" : undefined };
  return (
    <section class="card">
      <h2>{texts.accounting}</h2>
      <p class="muted">{texts.accountingIntro}</p>
      <div class="actions">
        <ChoiceField
          label={texts.fileFormat}
          value={format}
          of={exportFormats.toReversed().map((each) => [each, texts.exportFormat[each]])}
          onValue={setFormat}
        />
        <PeriodFields period={period} onPeriod={setPeriod} />
        <label class="check">
          <input type="checkbox" checked={full} onChange={() => setFull(!full)} />
          {texts.withPersonalData}
        </label>
        {!endsBeforeItBegins(period) && (
          <Download
            label={texts.saveExport}
            url={urlOf("api/export", query)}
            name={`fx-${period.from}-${period.to}${full ? "-full" : ""}.${ending}`}
            type={type}
            isEnd={isWholeExport}
          />
        )}
      </div>
    </section>
  );
}
