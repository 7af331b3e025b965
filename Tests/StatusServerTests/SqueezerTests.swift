// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import StatusServer

@Suite struct SqueezerTests {
    private func script(_ text: String) -> String {
        String(decoding: Squeezer.script.squeeze(Array(text.utf8)), as: UTF8.self)
    }

    @Test(arguments: [
        (
            "const one = 1;\n  // a comment\n\n  const two = (a, b) => { return a + b; };",
            "const one=1;const two=(a,b)=>{return a + b;};"
        ),
        ("if (a) b()\nc()", "if(a)b()\nc()"),
        ("x = 'a  =  b' + \"c , d\";", "x='a  =  b' + \"c , d\";"),
        (#"x = 'it\'s  ,  so' , y;"#, #"x='it\'s  ,  so',y;"#),
        ("x = `a , ${ f(b , { c : 1 }) } , d ${ e } , `;", "x=`a , ${f(b,{c:1})} , d ${e} , `;"),
        ("x = `a ${b ? `c , ${d} , ` : ' , '} , `;", "x=`a ${b?`c , ${d} , `:' , '} , `;"),
        (#"y = z.replace(/^Path( is)?:? [/ ,] \/ /, '') / 2;"#, #"y=z.replace(/^Path( is)?:? [/ ,] \/ /,'')/ 2;"#),
        ("a = b / c , d / e;", "a=b / c,d / e;"),
    ])
    func `texts, templates and expressions of a script stay`(text: String, expected: String) {
        #expect(script(text) == expected)
    }

    @Test func `a style keeps what separates selectors and numbers`() {
        let text = """
            a :is(b, c) > d { width: calc(100% - 2px); content: "a , b" / ""; }
              @media (max-width: 4px) and (x) { }
            """
        let expected =
            "a :is(b,c) > d{width:calc(100% - 2px);content:\"a , b\" / \"\";}"
            + "@media (max-width:4px) and (x){}"
        #expect(String(decoding: Squeezer.style.squeeze(Array(text.utf8)), as: UTF8.self) == expected)
    }
}
