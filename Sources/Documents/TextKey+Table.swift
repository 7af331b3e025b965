// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// The one table of well-known keys, in lower case; `*` stands for the number of a row of keys.
///
/// Sources: Bonjour Printing Specification 1.2.1, Mopria eSCL Technical Specification 2.97, HomeKit Accessory
/// Protocol R2 section 6.4, Matter 1.3 core specification section 4.3, XEP-0174 (chat), RFC 6763 section 6, the lists of
/// keys of dns-sd.org, and what devices publish.
extension TextKey {
    /// In the text of any service.
    static let common: [String: TextKey] = ["txtvers": "version of these texts"]

    static let groups: [(types: [String], keys: [String: TextKey])] = [
        (["_ipp._tcp", "_ipps._tcp", "_printer._tcp", "_pdl-datastream._tcp"], printer),
        (["_uscan._tcp", "_uscans._tcp", "_scanner._tcp"], scanner),
        (["_privet._tcp"], ["ty": "model", "note": "place", "url": "server", "type": "kind", "id": "identifier"]),
        (["_http._tcp", "_https._tcp", "_webdav._tcp", "_webdavs._tcp", "_ftp._tcp", "_octoprint._tcp"], page),
        (["_ssh._tcp", "_sftp-ssh._tcp", "_rfb._tcp", "_telnet._tcp"], ["u": "user name", "p": "password"]),
        (["_prometheus-http._tcp"], ["path": "path of the metrics"]),
        (["_airplay._tcp"], airPlay), (["_raop._tcp"], airPlaySound),
        (["_googlecast._tcp"], cast),
        (["_spotify-connect._tcp"], ["cpath": "path", "version": "version of the protocol", "stack": "software"]),
        (["_hap._tcp", "_hap._udp"], accessory),
        (["_matterc._udp", "_matterd._udp", "_matter._tcp"], matter),
        (["_meshcop._udp", "_trel._udp"], thread),
        (
            ["_companion-link._tcp"],
            ["rpmd": "model", "rpvr": "version", "rpba": "Bluetooth address, changing", "rpfl": "abilities, bits"]
        ),
        (
            ["_device-info._tcp"],
            ["model": "model of the hardware", "osxvers": "version of macOS", "ecolor": "colour, RGB"]
        ),
        (["_adisk._tcp"], ["sys": "server: address, abilities", "dk*": "disk: name, abilities, identifier"]),
        (
            ["_esphomelib._tcp"],
            [
                "friendly_name": "name", "version": "version of ESPHome", "mac": "hardware address",
                "platform": "chip", "board": "circuit board", "network": "link", "api_encryption": "encryption",
                "project_name": "project", "project_version": "version of the project",
                "package_import_url": "where its configuration is", "config_hash": "digest of its configuration",
            ]
        ),
        (
            ["_home-assistant._tcp"],
            [
                "base_url": "address", "internal_url": "address at home", "external_url": "address from outside",
                "location_name": "name", "uuid": "identifier", "version": "version of Home Assistant",
                "requires_api_password": .isTrue("requires a password"),
            ]
        ),
        (["_mqtt._tcp", "_secure-mqtt._tcp"], ["u": "user name", "p": "password"]),
        (
            ["_shelly._tcp"],
            ["app": "model", "ver": "version of the firmware", "gen": "generation", "id": "identifier"]
        ),
        (["_hue._tcp"], ["bridgeid": "identifier", "modelid": "model"]),
        (
            ["_sonos._tcp"],
            [
                "location": "description", "hhid": "household", "vers": "version of the protocol",
                "bootseq": "count of starts",
            ]
        ),
        (["_wled._tcp"], ["mac": "hardware address"]),
        (["_elg._tcp"], ["mf": "maker", "md": "model", "id": "hardware address", "pv": "version of the protocol"]),
        (["_nanoleafapi._tcp"], ["md": "model", "srcvers": "version of the firmware", "id": "identifier"]),
        (
            ["_hwenergy._tcp", "_homewizard._tcp"],
            [
                "product_name": "model", "product_type": "number of the model", "serial": "serial number",
                "api_enabled": .isTrue("answers programs"), "path": "path of the interface",
            ]
        ),
        (
            ["_kdeconnect._udp"],
            ["id": "identifier", "type": "kind of device", "protocol": "version of the protocol"]
        ),
        (
            ["_daap._tcp"],
            [
                "machine name": "name", "machine id": "identifier of the computer",
                "database id": "identifier of the library", "version": "version of the protocol",
                "itsh version": "version of sharing", "password": .isTrue("requires a password"),
            ]
        ),
        (
            ["_touch-able._tcp", "_appletv-v2._tcp"],
            ["ctln": "name", "dvty": "kind", "dbid": "identifier of the library"]
        ),
        (["_amzn-wplay._tcp"], ["n": "name"]),
        (["_androidtvremote2._tcp", "_androidtvremote._tcp"], ["bt": "Bluetooth address"]),
        (["_axis-video._tcp"], ["macaddress": "hardware address"]),
        (
            ["_lxi._tcp", "_vxi-11._tcp", "_scpi-raw._tcp", "_hislip._tcp"],
            [
                "manufacturer": "maker", "serialnumber": "serial number",
                "firmwareversion": "version of the firmware",
            ]
        ),
        (
            ["_presence._tcp"],
            [
                "1st": "first name", "last": "family name", "nick": "nickname", "email": "mail address",
                "jid": "XMPP address", "msg": "self-description", "port.p2pj": "port", "phsh": "picture",
                "node": "program", "ver": "version of the program", "ext": "abilities", "vc": "voice and video",
                "status": TextKey("state", .word(["avail": "here", "away": "away", "dnd": "do not disturb"])),
            ]
        ),
    ]

    // MARK: - Printers, scanners and pages

    private static let device: [String: TextKey] = [
        "ty": "model", "note": "place", "adminurl": "settings page", "pdl": "formats", "uuid": "identifier",
        "duplex": .isTrue("both sides"), "usb_mfg": "maker", "usb_mdl": "model by USB",
        "mopria-certified": "version of Mopria",
    ]

    private static let printer = device.merging([
        "rp": "queue", "product": "model in PostScript", "color": .isTrue("colour"), "copies": .isTrue("many copies"),
        "collate": .isTrue("sorts copies"), "bind": .isTrue("binds"), "sort": .isTrue("sorts"),
        "punch": .isTrue("punches"), "staple": .isTrue("staples"), "fax": .isTrue("sends faxes"),
        "scan": .isTrue("scanner"),
        "rfo": "queue of the fax", "papermax": "largest paper", "papercustom": .isTrue("paper of any size"),
        "kind": "kinds of paper", "qtotal": "number of queues", "priority": "which queue first, low before high",
        "transparent": .isTrue("passes any byte"), "binary": .isTrue("PostScript in bytes"),
        "tbcp": .isTrue("PostScript in TBCP"), "urf": "AirPrint formats", "usb_cmd": "languages",
        "tls": "version of TLS", "printer-type": "abilities of the queue, bits",
        "printer-state": TextKey("state", .word(["3": "idle", "4": "printing", "5": "stopped"])),
        "air": TextKey(
            "login",
            .word([
                "none": "none", "username,password": "user name and password", "certificate": "certificate",
                "negotiate": "Kerberos",
            ])
        ),
    ]) { first, _ in first }

    private static let scanner = device.merging([
        "rs": "path", "vers": "version of eSCL", "representation": "picture",
        "mopria-certified-scan": "version of Mopria",
        "cs": TextKey("colours", .words(["binary": "black and white", "grayscale": "grey", "color": "colour"])),
        "is": TextKey("from", .words(["platen": "glass", "adf": "feeder", "camera": "camera"])),
    ]) { first, _ in first }

    private static let page: [String: TextKey] = [
        "path": "page to begin with", "u": "user name", "p": "password", "vendor": "maker",
        "serial": "serial number",
        "version": "version of the software", "api": "version for programs", "uuid": "identifier",
    ]

    // MARK: - Sound and pictures

    private static let airPlay: [String: TextKey] = [
        "model": "model of the hardware", "manufacturer": "maker", "serialnumber": "serial number",
        "deviceid": "hardware address",
        "srcvers": "version of AirPlay", "osvers": "version of the system", "fv": "version of the firmware",
        "protovers": "version of the protocol", "features": "abilities, bits", "flags": "state, bits",
        "pi": "identifier for pairing", "pk": "public key", "btaddr": "Bluetooth address",
        "gid": "identifier of the group",
        "gpn": "name of the group", "igl": .isTrue("leads its group"), "gcgl": .isTrue("group has a leader"),
        "pw": .isTrue("requires a password"), "acl": "who may play",
    ]

    private static let airPlaySound: [String: TextKey] = [
        "am": "model", "ch": "channels", "sr": "samples a second", "ss": "bits a sample", "tp": "transport",
        "vn": "version of the protocol", "vs": "version of AirPlay", "ov": "version of the system",
        "fv": "version of the firmware", "ft": "abilities, bits", "sf": "state, bits", "pk": "public key",
        "pw": .isTrue("requires a password"), "da": .isTrue("digest login"),
        "cn": TextKey("sound formats", .words(["0": "PCM", "1": "ALAC", "2": "AAC", "3": "AAC ELD"])),
        "et": TextKey(
            "encryption",
            .words(["0": "none", "1": "RSA", "3": "FairPlay", "4": "MFi", "5": "FairPlay 2.5"])
        ),
        "md": TextKey("takes", .words(["0": "text", "1": "pictures", "2": "progress"])),
    ]

    private static let cast: [String: TextKey] = [
        "fn": "name", "md": "model", "id": "identifier", "ve": "version of the protocol", "ic": "picture",
        "rs": "what it plays", "st": TextKey("state", .word(["0": "idle", "1": "busy"])),
        "ca": TextKey(
            "abilities",
            .bits(
                ["shows pictures", "has a camera", "plays sound", "has a microphone", "", "is a group"],
                none: "none"
            )
        ),
    ]

    // MARK: - House

    private static let accessory: [String: TextKey] = [
        "md": "model", "id": "identifier", "pv": "version of the protocol", "c#": "number of the configuration",
        "s#": "number of the state", "sh": "digest of the setup code",
        "ff": TextKey("certified by", .bits(["Apple chip", "software"], none: "nothing")),
        "sf": TextKey("state", .bits(["not paired", "not on Wi-Fi", "has a problem"], none: "paired")),
        "ci": TextKey(
            "category",
            .word([
                "1": "other", "2": "bridge", "3": "fan", "4": "garage door", "5": "light", "6": "door lock",
                "7": "outlet", "8": "switch", "9": "thermostat", "10": "sensor", "11": "alarm system", "12": "door",
                "13": "window", "14": "blinds", "15": "button", "16": "range extender", "17": "camera",
                "18": "doorbell with camera", "19": "air purifier", "20": "heater", "21": "air conditioner",
                "22": "humidifier", "23": "dehumidifier", "24": "Apple TV", "25": "HomePod", "26": "speaker",
                "27": "AirPort", "28": "sprinkler", "29": "tap", "30": "shower", "31": "television",
                "32": "remote control", "33": "router", "34": "audio receiver", "35": "TV set-top box",
                "36": "TV stick",
            ])
        ),
    ]

    private static let matter: [String: TextKey] = [
        "vp": "maker and product, numbers", "d": "number that identifies it", "dn": "name",
        "ri": "identifier, changing",
        "pi": "how to add it", "sii": "interval of answers asleep, ms", "sai": "interval of answers awake, ms",
        "sat": "stays awake for, ms",
        "cm": TextKey(
            "can be added",
            .word(["0": "no", "1": "yes", "2": "yes, by its controller", "3": "yes, by its controller"])
        ),
        "icd": TextKey("sleeps", .word(["0": "shortly", "1": "long"])),
        "t": TextKey(
            "TCP",
            .word(["0": "no", "1": "yes", "2": "as client", "4": "as server", "6": "as client and server"])
        ),
        "ph": TextKey(
            "to add it",
            .bits(
                [
                    "switch off and on", "see the maker's page", "see its controller", "see its settings",
                    "see PI", "see its manual", "press reset", "press reset at power on",
                    "press reset for PI seconds", "press reset until it blinks",
                    "press reset for PI seconds at power on", "press reset until it blinks at power on",
                    "press reset PI times", "press setup", "press setup at power on", "press setup for PI seconds",
                    "press setup until it blinks", "press setup for PI seconds at power on",
                    "press setup until it blinks at power on", "press setup PI times",
                ],
                none: "not stated"
            )
        ),
        "dt": TextKey(
            "kind",
            .word([
                "10": "door lock", "14": "bridge", "15": "switch", "21": "contact sensor", "34": "speaker",
                "35": "TV player", "40": "TV", "43": "fan", "44": "air quality sensor", "45": "air purifier",
                "114": "air conditioner", "116": "robot vacuum cleaner", "117": "dishwasher", "118": "smoke alarm",
                "256": "light",
                "257": "light, dimmable", "259": "light switch", "263": "presence sensor", "266": "outlet",
                "267": "outlet, dimmable", "268": "light, white", "269": "light, colour", "514": "blinds",
                "769": "thermostat", "770": "temperature sensor",
            ])
        ),
    ]

    private static let thread: [String: TextKey] = [
        "nn": "name of the network", "vn": "maker", "mn": "model", "tv": "version of Thread",
        "xp": "identifier of the network", "xa": "hardware address", "id": "identifier", "rv": "version of these texts",
        "dn": "domain", "sb": "state, bits", "pt": "part of the network", "omr": "prefix of addresses",
    ]
}
