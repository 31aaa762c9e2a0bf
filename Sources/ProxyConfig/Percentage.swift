/// A share from 0% to 100%, written with its sign: `20%`.
package struct Percentage: Sendable, Hashable {
    package let percent: Int

    package init(_ percent: Int) {
        self.percent = percent
    }

    package init?(text: String) {
        guard text.hasSuffix("%"), let percent = WholeNumber.parse(text.dropLast()), percent <= 100
        else { return nil }
        self.percent = percent
    }
}
